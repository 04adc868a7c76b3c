import { registerHooks } from "node:module";

/**
 * Loads the reader of Stately's tools. It is older than XState 5 and takes two of its modules from XState 4, which this
 * repository has under another name.
 */
export const loadReader = async () => {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier.replace(/^xstate\/lib\//, "xstate4/lib/"), context),
  });
  try {
    return await import("@xstate/machine-extractor");
  } finally {
    hooks.deregister();
  }
};
