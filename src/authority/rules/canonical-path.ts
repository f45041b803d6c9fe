/** What paths are relative to. */
export interface PathBase {
  /** The workspace, absolute. */
  readonly root?: string
  readonly home?: string
}

/**
 * One spelling for all spellings of a path that some file system takes for the same file: case, Unicode forms, invisible
 * characters, `.`, `..`, doubled and trailing separators, trailing dots and blanks, `file:`, `~`, backslashes, device
 * prefixes and streams. Only for rules that deny or ask; never open the result.
 */
export function canonicalPath(path: string, base: PathBase = {}): string {
  // Fast path: most paths are plain, and this dominates the time of a decision.
  if (plain.test(path)) return path
  const slashed = foldName(withoutScheme(path)).replaceAll('\\', '/').replace(devicePrefix, '/')
  const home = base.home === undefined ? undefined : foldName(base.home)
  const whole = home !== undefined && /^~(?=\/|$)/.test(slashed) ? home + slashed.slice(1) : slashed
  const segments: string[] = []
  for (const segment of whole.split('/')) {
    const name = withoutStream(segment)
    if (segment === '..') segments.pop()
    else if (name !== '') segments.push(name)
  }
  const isAbsolute = whole.startsWith('/')
  return (isAbsolute ? '/' : '') + segments.join('/') || '.'
}

/** Both forms a rule may use: absolute, and relative if inside the workspace. */
export function bothForms(path: string, base: PathBase): string[] {
  const canonical = canonicalPath(path, base)
  if (base.root === undefined) return [canonical]
  const root = canonicalPath(base.root)
  if (!canonical.startsWith('/'))
    return [canonical, canonical === '.' ? root : `${root === '/' ? '' : root}/${canonical}`]
  if (canonical === root) return [canonical, '.']
  return canonical.startsWith(`${root}/`) ? [canonical, canonical.slice(root.length + 1)] : [canonical]
}

/** Folds case and Unicode forms, as some file systems do. */
export function foldName(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  // Via upper case, because the long s and similar letters have no lower case of their own.
  return text.normalize('NFC').replace(ignorable, '').toUpperCase().toLowerCase().normalize('NFC')
}

/** Lower-case names in ASCII with a dot at most in front of or inside each. */
const plain = /^\/?(\.?[a-z0-9_*-]+(\.[a-z0-9_*-]+)*\/)*\.?[a-z0-9_*-]+(\.[a-z0-9_*-]+)*$/
const ascii = /^[ -~]*$/
/** Characters that some file systems ignore in names. */
const ignorable = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g
const devicePrefix = /^\/(?:\/[?.]|\?\?)\//

function withoutScheme(path: string): string {
  if (!/^file:/i.test(path)) return path
  const rest = path.slice(5).replace(/^\/\/[^/\\]*/, '')
  try {
    return decodeURIComponent(rest)
  } catch {
    return rest
  }
}

/** Without the stream name and without the trailing dots and blanks that Windows drops. */
function withoutStream(segment: string): string {
  return segment.replace(/:[^:]*:\$[a-z_]+$/, '').replace(/[. ]+$/, '')
}
