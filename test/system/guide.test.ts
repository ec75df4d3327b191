import { followPages } from '../support/guide/follow.ts';

followPages('rest');
