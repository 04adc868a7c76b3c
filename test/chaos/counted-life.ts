import { createLife, type Life } from "../fakes/life.ts";

/** A process whose pending timers are counted. */
export interface CountedLife extends Life {
  timers(): number;
}

/** Creates a process that lives until it is ended. */
export const createCountedLife = (): CountedLife => {
  const life = createLife();
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
