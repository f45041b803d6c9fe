import { textStart } from '../../platform/text-start.ts'
import type { HiddenPath } from '../bubblewrap/args.ts'
import { realPathOf } from '../files/confined-path.ts'

/** The names of settings of package managers, which may hold a token. */
export const packageSettings: ReadonlySet<string> = new Set(['.npmrc', '.yarnrc.yml'])

/** Settings of npm for all users, in a folder of which a sandbox shows all. */
export const systemSettings: readonly string[] = ['/usr/local/etc/npmrc', '/usr/etc/npmrc', '/opt/homebrew/etc/npmrc']

/**
 * Those of such settings that hold a token. Those without one are ordinary files of the project: if they were hidden, git
 * would take them for changed and fail over them.
 */
export function tokenFiles(settings: readonly string[]): HiddenPath[] {
  return settings
    .filter((path) => token.test(textStart(path, mostText)))
    .map((path) => ({ path: realPathOf(path), isFolder: false }))
}

const mostText = 256 * 1024

/** A name of a variable, as in `${NPM_TOKEN}`, is no token. */
const token =
  /^(?!\s*[#;]).*(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)["']?\s*[=:]\s*["']?(?!\$\{)[^\s"']/im
