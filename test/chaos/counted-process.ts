import { createFakeProcess, type FakeProcess } from "../fakes/fake-process.ts";

/** A process whose pending timers are counted. */
export interface CountedProcess extends FakeProcess {
  timers(): number;
}

/** Creates a process that lives until it is ended. */
export const createCountedProcess = (): CountedProcess => {
  const life = createFakeProcess();
  let open = 0;
  return {
    ...life,
    timers: () => open,
    clock: (real) => {
      const clock = life.clock(real);
      return {
        now: clock.now,
        after: (ms, fire) => {
          let isOpen = true;
          open += 1;
          const close = () => {
            if (isOpen) open -= 1;
            isOpen = false;
          };
          const callOff = clock.after(ms, () => {
            close();
            fire();
          });
          return () => {
            close();
            callOff();
          };
        },
      };
    },
  };
};
