import { dirname, join } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import type { HiddenPath } from '../bubblewrap/args.ts'
import { realPathOf } from '../files/confined-path.ts'

/** The names of settings of package managers, which may hold a token. */
export const packageSettings: ReadonlySet<string> = new Set(['.npmrc', '.yarnrc.yml'])

/** Settings of npm for all users, in a folder of which a sandbox shows all. */
const systemSettings: readonly string[] = ['/usr/local/etc/npmrc', '/usr/etc/npmrc', '/opt/homebrew/etc/npmrc']

/** Settings of npm for all users of a folder of programs, and those that npm brings along. */
export function sharedSettings(path: readonly string[]): string[] {
  const prefixes = path.map((folder) => dirname(realPathOf(folder))).filter((folder) => folder !== '/')
  return [...new Set([...systemSettings, ...prefixes.flatMap((one) => npmSettings.map((name) => join(one, name)))])]
}

const npmSettings = ['etc/npmrc', 'lib/node_modules/npm/npmrc']

/** Settings at home that are shown where the home folder is, unless they hold a token. Not those of git, which fails without them. */
export const homeSettings: readonly string[] = [
  ...['.condarc', '.cargo/config.toml', '.cargo/config', '.curlrc', '.wgetrc', '.pip/pip.conf', '.config/pip/pip.conf'],
  ...['.config/uv/uv.toml', '.config/hatch/config.toml', '.config/pdm/config.toml', '.config/pypoetry/config.toml'],
  ...['.bunfig.toml', '.config/nix/nix.conf', '.pydistutils.cfg', '.sbt/1.0/global.sbt', '.cabal/config'],
  '.stack/config.yaml',
]

/**
 * Those of such settings that hold a token. Those without one are ordinary files of the project: if they were hidden, git
 * would take them for changed and fail over them.
 */
export function tokenFiles(settings: readonly string[]): HiddenPath[] {
  return settings
    .filter((path) => holdsToken(textStart(path, mostText)))
    .map((path) => ({ path: realPathOf(path), isFolder: false }))
}

const mostText = 256 * 1024

/** Looks at each line alone and at no blanks twice: a project can make its settings of nothing but blanks. */
export function holdsToken(text: string): boolean {
  return text.split('\n').some((line) => !/^[ \t]*[#;]/.test(line) && tokens.some((one) => one.test(line)))
}

/** A name of a variable, as in `${NPM_TOKEN}`, is no token. */
const value = String.raw`[ \t]*["']?(?!\$\{)[^\s"']`
const tokens: readonly RegExp[] = [
  new RegExp(String.raw`(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)["']?[ \t]*[=:]${value}`, 'i'),
  // In YAML the value may begin in the next line.
  /npmAuth(?:Token|Ident)["']?[ \t]*:[ \t]*\r?$/,
  // In settings of cargo, and in an address.
  new RegExp(String.raw`^[ \t]*(?:[\w.-]+\.)?(?:token|secret-key|_?password)[ \t]*[=:]${value}`),
  /^[ \t]*-{0,2}(?:(?:proxy-)?user[ \t=:]+["']?[^\s"':=]+:|oauth2-bearer)/i,
  /^[ \t]*access-tokens[ \t]*=[ \t]*\S/,
  /:\/\/[^\s/@:]*:(?!\$\{)[^\s/@]+@/,
]
