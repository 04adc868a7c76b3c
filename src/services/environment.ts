/** True in development mode. Read when asked: a bundler that saw the variable's name would put in its own value. */
export const isDevelopment = (environment: NodeJS.ProcessEnv = process.env): boolean => {
  const name = "NODE_ENV";
  return environment[name] === "development";
};
