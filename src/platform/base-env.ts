export type Variables = Readonly<Record<string, string | undefined>>

/**
 * The environment variables that every program needs, without values that look like a secret. Everything else is left out:
 * provider keys, and variables that make programs load code (`LD_PRELOAD`, `NODE_OPTIONS`, `BASH_ENV`).
 */
export function baseEnv(host: Variables): Record<string, string> {
  const names = [...basics, ...windowsBasics, ...Object.keys(host).filter((name) => name.startsWith('LC_'))]
  const kept = names.flatMap((name): [string, string][] => {
    const value = host[name]
    return value === undefined || secretName.test(name) || looksSecret(value) ? [] : [[name, value]]
  })
  return Object.fromEntries(kept)
}

const basics = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR']
const windowsBasics = [
  ...['APPDATA', 'ComSpec', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'OS', 'PATHEXT'],
  ...['PROCESSOR_ARCHITECTURE', 'ProgramData', 'ProgramFiles', 'ProgramFiles(x86)', 'SystemDrive', 'SystemRoot'],
  ...['TEMP', 'TMP', 'USERNAME', 'USERPROFILE', 'windir'],
]

const secretName = /key|token|secret|pass|auth|cred|private|cert|session|cookie/i
const pem = /-----BEGIN /
const urlWithUserinfo = /:\/\/[^\s/?#]*@/
const jwt = /^eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*$/
const knownKey =
  /^(?:[sr]k[-_]|gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|hf_|npm_|pypi-|SG\.|dop_v1_)[\w.-]{12,}$/
/** Letters and digits without separators, longer than any locale, time zone or user name. */
const opaque = /^(?=\D*\d)(?=[^a-z]*[a-z])[\w+=-]{32,}$/i

function looksSecret(value: string): boolean {
  if (pem.test(value) || urlWithUserinfo.test(value)) return true
  // Piece by piece, because a folder in PATH may be called sk-something.
  return value.split(/[\s:;,='"]+/).some((piece) => jwt.test(piece) || knownKey.test(piece) || opaque.test(piece))
}
