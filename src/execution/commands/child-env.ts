import { baseEnv, type Variables } from '../../platform/base-env.ts'

interface ChildEnvOptions {
  /** The environment of this process. */
  readonly host: Variables
  /** Further names to inherit. They were configured explicitly, so they are not filtered. */
  readonly inherit?: readonly string[]
  /** Set unchanged; later ones win. */
  readonly added?: readonly (Variables | undefined)[]
}

/** The environment of a command: what a shell needs, nothing that looks like a secret, and no interactive prompts. */
export function childEnv({ host, inherit = [], added = [] }: ChildEnvOptions): Record<string, string> {
  const named = Object.fromEntries(inherit.map((name) => [name, host[name]]))
  return Object.assign({}, baseEnv(host), safeValues, ...[named, ...added].map(onlySet))
}

/** There is no person to answer: a program that would prompt must fail at once. */
const safeValues: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_PAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  EDITOR: 'false',
  VISUAL: 'false',
  GIT_EDITOR: 'false',
  GIT_TERMINAL_PROMPT: '0',
  // A nested repository may configure a program here that even `git status` would run.
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
  // A folder of a project may be a bare repository, with settings of its own.
  GIT_CONFIG_KEY_1: 'safe.bareRepository',
  GIT_CONFIG_VALUE_1: 'explicit',
  GIT_OPTIONAL_LOCKS: '0', // git status must not write the index: a read-only command changes nothing
  GCM_INTERACTIVE: 'never',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS: 'false',
  SUDO_ASKPASS: 'false',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
  DEBIAN_FRONTEND: 'noninteractive',
  PIP_NO_INPUT: '1',
}

function onlySet(variables: Variables | undefined): Variables {
  return Object.fromEntries(Object.entries(variables ?? {}).filter(([, value]) => value !== undefined))
}
