import { promiseTests } from '../support/promises/tests.ts';

promiseTests({ part: 1, of: 2 });
