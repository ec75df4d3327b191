import type { MeshChange, MeshMap } from '../../core/protocol/agent-protocol.ts';
import { changedMap } from '../../core/protocol/mesh-change.ts';

/** The map of the network as it is told: whole at the beginning of a session, perhaps in parts, then by its changes. */
export class ArrivingMap {
  #map: MeshMap | undefined;

  /** Undefined: a part is still to come. */
  take(message: MeshMap | MeshChange): MeshMap | undefined {
    // A change without a map is of a session that is over.
    this.#map = message.type === 'mesh' ? message : this.#map && changedMap(this.#map, message);
    return this.#map?.more === true ? undefined : this.#map;
  }
}
