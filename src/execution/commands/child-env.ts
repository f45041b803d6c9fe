type Variables = Readonly<Record<string, string | undefined>>

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
  return Object.assign({}, inherited(host), safeValues, ...[named, ...added].map(onlySet))
}

/** Everything else stays out: provider keys, and whatever makes programs load code (`LD_PRELOAD`, `NODE_OPTIONS`, `BASH_ENV`). */
const basics = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR']
const windowsBasics = [
  ...['APPDATA', 'ComSpec', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'OS', 'PATHEXT'],
  ...['PROCESSOR_ARCHITECTURE', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)', 'SystemDrive', 'SystemRoot'],
  ...['TEMP', 'TMP', 'USERNAME', 'USERPROFILE', 'windir'],
]

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

function inherited(host: Variables): Record<string, string> {
  const names = [...basics, ...windowsBasics, ...Object.keys(host).filter((name) => name.startsWith('LC_'))]
  const kept = names.flatMap((name): [string, string][] => {
    const value = host[name]
    return value === undefined || secretName.test(name) || looksSecret(value) ? [] : [[name, value]]
  })
  return Object.fromEntries(kept)
}

const secretName = /key|token|secret|pass|auth|cred|private|cert|session|cookie/i
const pem = /-----BEGIN /
const urlWithUserinfo = /:\/\/[^\s/?#]*@/
const jwt = /^eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*$/
const knownKey =
  /^(?:[sr]k[-_]|gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|hf_|npm_|pypi-|SG\.|dop_v1_)[\w.-]{12,}$/
/** Letters and digits without a break, longer than any locale, zone or user name. */
const opaque = /^(?=\D*\d)(?=[^a-z]*[a-z])[\w+=-]{32,}$/i

function looksSecret(value: string): boolean {
  if (pem.test(value) || urlWithUserinfo.test(value)) return true
  // Piece by piece: a folder in PATH may well be called sk-something.
  return value.split(/[\s:;,='"]+/).some((piece) => jwt.test(piece) || knownKey.test(piece) || opaque.test(piece))
}

function onlySet(variables: Variables | undefined): Variables {
  return Object.fromEntries(Object.entries(variables ?? {}).filter(([, value]) => value !== undefined))
}
