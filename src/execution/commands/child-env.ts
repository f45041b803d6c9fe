import { baseEnv, type Variables } from '../../platform/base-env.ts'

export interface ChildEnvOptions {
  /** What this process has at this moment. */
  readonly host: Variables
  /** Further names to take over: the choice of whoever set the context up, so nothing of it is filtered. */
  readonly inherit?: readonly string[]
  /** Set as they are; later ones win. */
  readonly added?: readonly (Variables | undefined)[]
}

/** The environment of a command: what a shell needs, nothing that looks like a secret, and no way to be asked anything. */
export function childEnv({ host, inherit = [], added = [] }: ChildEnvOptions): Record<string, string> {
  const named = Object.fromEntries(inherit.map((name) => [name, host[name]]))
  return Object.assign({}, baseEnv(host), safeValues, ...[named, ...added].map(onlySet))
}

/** Nobody is there to answer: what would ask must fail at once and say so. */
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
  // A repository inside a trusted one may name a program here, which a mere git status would run.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_OPTIONAL_LOCKS: '0', // git status must not write the index: who only looks changes nothing
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
