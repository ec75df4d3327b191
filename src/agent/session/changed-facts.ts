import type { Report } from '../../core/protocol/agent-protocol.ts';

type Facts = NonNullable<Report['facts']>;

/** Of what may change while a session lasts: said with every report once it is other than `hello` said, also when it is as before again. */
export class ChangedFacts {
  #hello = '';
  #hasChanged = false;

  begin(facts: Facts): void {
    this.#hello = JSON.stringify(facts);
    this.#hasChanged = false;
  }

  of(facts: Facts): Facts | undefined {
    this.#hasChanged ||= JSON.stringify(facts) !== this.#hello;
    return this.#hasChanged ? facts : undefined;
  }
}
