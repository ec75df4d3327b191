import { promiseTests } from '../support/promises/tests.ts';

promiseTests({ part: 0, of: 2 });
