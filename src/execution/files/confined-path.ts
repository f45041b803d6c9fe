import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface PathSetting {
  /** What a relative path starts from. */
  readonly cwd: string
  /** What `~` means; asked for only when it is there. */
  readonly home: () => string
  readonly platform: NodeJS.Platform
}

/** The absolute path that a text means. Nothing is looked up: `..` is taken out of the text, and links are left for the system. */
export function readPath(text: unknown, { cwd, home, platform }: PathSetting): string {
  const isWindows = platform === 'win32'
  const path = withoutScheme(wellFormed(text), isWindows)
  if (path.includes('\0')) throw fileError('EINVAL', `The path ${quoted(path)} holds a NUL character; give it without`)
  const { resolve } = isWindows ? win32 : posix
  const plain = isWindows ? plainOnWindows(path) : path
  const absolute = /^~(?=$|\/)/.test(plain) ? resolve(home(), `.${plain.slice(1)}`) : resolve(cwd, plain)
  const length = isWindows ? absolute.length : Buffer.byteLength(absolute)
  if (length > (isWindows ? longestOnWindows : longest))
    throw fileError('ENAMETOOLONG', `The path ${quoted(absolute)} is too long (${length})`)
  return absolute
}

/** An error with the code of a system error, for whoever acts on codes. */
export function fileError(code: string, message: string, path?: string): Error {
  return Object.assign(new Error(message), path === undefined ? { code } : { code, path })
}

/** PATH_MAX of Linux without its NUL; other systems have less and say so themselves. */
const longest = 4095
const longestOnWindows = 32_767

function wellFormed(text: unknown): string {
  if (typeof text !== 'string') throw fileError('EINVAL', `A path must be a string, not ${typeof text}`)
  if (text === '') throw fileError('EINVAL', 'The path is empty; give the path of a file or a folder, "." for this one')
  if (text.isWellFormed()) return text
  // It would be written as another character, and so name another file.
  throw fileError('EINVAL', `The path ${quoted(text)} holds half a character (a lone surrogate)`)
}

function withoutScheme(text: string, windows: boolean): string {
  if (!/^file:\/\//i.test(text)) return text
  try {
    const url = new URL(text)
    if (url.search === '' && url.hash === '') return fileURLToPath(url, { windows })
  } catch {
    // said below
  }
  throw fileError('EINVAL', `${quoted(text)} is no file URL of this machine; give the plain path`)
}

/** Refuses every form in which Windows lets one file have another name, or a name be no file. */
function plainOnWindows(path: string): string {
  const refuse = (what: string): never => {
    throw fileError('EINVAL', `${quoted(path)} is ${what}; give the plain path, such as C:\\folder\\file.txt`)
  }
  const slashed = path.replaceAll('\\', '/')
  if (/^\/\/[?.](\/|$)|^\/\?\?(\/|$)/.test(slashed)) return refuse('a path of the device namespace')
  if (slashed.startsWith('//')) return refuse('a network path')
  if (/^[a-z]:(?!\/)/i.test(slashed)) return refuse('relative to the current folder of a drive')
  const [, drive = '', rest = ''] = /^([a-z]:)?(.*)$/is.exec(slashed)!
  if (rest.includes(':')) return refuse('the name of a stream inside a file')
  return drive + rest.split('/').map(plainName).join('/')

  function plainName(name: string): string {
    if (name === '' || name === '.' || name === '..') return name
    // Windows drops dots and spaces at the end of a name.
    const plain = name.replace(/[. ]+$/, '')
    if (plain === '') return refuse('a path with a name of nothing but dots and spaces')
    if (deviceName.test(plain)) return refuse(`the name of a device (${plain})`)
    if (shortName.test(plain)) return refuse(`a path with a short name (${plain})`)
    return plain
  }
}

const deviceName = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i
/** As in `PROGRA~1`: another name for a file with a long one. */
const shortName = /^(?=[^.]{3,8}(\.|$))[^.]+~\d+(\.[^.]{0,3})?$/

function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}
