// An agent that may only edit files could otherwise have git run a program, by a filter or a hook that a repository names
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { delimiter, isAbsolute } from "node:path";

/** Variables that say which repository git works on: a hook or an editor may have set them for another one. */
const LOCATIONS = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_NAMESPACE",
  "GIT_PREFIX",
];

/** Variables that say where a person's configuration is, and how remotes are reached. All others change what git does. */
const KEPT =
  /^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|HTTP_\w+|ASKPASS|PROXY_\w+|ALLOW_PROTOCOL|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/** Commits of ours need an author where the user has configured none. They are on no branch. */
const IDENTITY = {
  GIT_AUTHOR_NAME: "opencode-taskchart",
  GIT_AUTHOR_EMAIL: "opencode-taskchart@localhost",
  GIT_COMMITTER_NAME: "opencode-taskchart",
  GIT_COMMITTER_EMAIL: "opencode-taskchart@localhost",
};

/** Returns the environment of the process, without the variables that would lead git to another repository. */
export const withoutLocations = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !LOCATIONS.includes(name)));

/** A folder that is named relatively would be looked for in the tree that git works on, among files that an agent wrote. */
const absoluteOnly = (path = ""): string => path.split(delimiter).filter(isAbsolute).join(delimiter);

/** The environment of each git command: that of the process, without what would change git's answers or its programs. */
const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env)
      .filter(([name]) => !name.startsWith("GIT_") || KEPT.test(name))
      .map(([name, value]) => [name, name.toUpperCase() === "PATH" ? absoluteOnly(value) : value]),
  );

/** The environment in which git reads a person's configuration. */
export const gitEnvironment = (): NodeJS.ProcessEnv => ({
  ...plainEnvironment(),
  ...IDENTITY,
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
});

/** The environment in which git reads no configuration but that of its repository. */
export const bareEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(gitEnvironment()).filter(([name]) => !name.startsWith("GIT_CONFIG_"))),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
});

/**
 * What a person's configuration would change in git's answers, or have it run. What says how a file's bytes become an
 * object and come back stays theirs: line ends, encodings, filters, links, and which files git ignores.
 */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.ignoreStat=false",
  "core.trustctime=true",
  "core.checkStat=default",
  "core.safecrlf=false",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "add.ignoreErrors=false",
  "sparse.expectFilesOutsideOfPatterns=false",
  "submodule.recurse=false",
  "diff.ignoreSubmodules=none",
  "i18n.commitEncoding=UTF-8",
  "gc.auto=0",
  "maintenance.auto=false",
];

/** The arguments with which each git command in a person's repository begins. */
export const settingArguments: readonly string[] = SETTINGS.flatMap((setting) => ["-c", setting]);
