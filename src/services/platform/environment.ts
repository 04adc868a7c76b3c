/**
 * True in development mode (`NODE_ENV=development`). Reads the variable at each call, by a computed name: a bundler
 * would replace `process.env.NODE_ENV` with its own value.
 */
export const isDevelopment = (environment: NodeJS.ProcessEnv = process.env): boolean => {
  const name = "NODE_ENV";
  return environment[name] === "development";
};
