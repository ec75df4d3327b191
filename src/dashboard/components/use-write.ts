import { useState } from 'react';
import { type RejectionRecord, rejectionOf } from '../../sdk/index.ts';
import { useToast } from './toast.tsx';

/** A write of a form: whether it runs, and its rejection for the fields. Any other failure is shown as a notice. */
export function useWrite(): {
  readonly isBusy: boolean;
  readonly rejection: RejectionRecord | undefined;
  readonly write: (action: () => Promise<unknown>) => Promise<boolean>;
} {
  const { failed } = useToast();
  const [isBusy, setBusy] = useState(false);
  const [rejection, setRejection] = useState<RejectionRecord>();
  const write = async (action: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setRejection(undefined);
    try {
      await action();
      return true;
    } catch (error) {
      const refused = rejectionOf(error);
      if (refused === undefined) failed(error);
      else setRejection(refused);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, rejection, write };
}
