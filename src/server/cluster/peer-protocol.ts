/** Where control planes of one store ask each other; what they say is in `core/protocol/peer-messages.ts`. */
export const PEER_METHOD = 'POST';
export const PEER_STREAM_PATH = '/internal/v1/streams';
export const PEER_SYSTEM_PATH = '/internal/v1/system';
export const PEER_QUESTION_PATH = '/internal/v1/questions';
