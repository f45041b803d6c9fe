import { describe, expect, test } from 'vitest'
import { readPath } from './confined-path.ts'

const linux = { cwd: '/w/proj', home: () => '/home/me', platform: 'linux' } as const
const windows = { cwd: 'C:\\w\\proj', home: () => 'C:\\Users\\me', platform: 'win32' } as const

describe('FS-13 however a path is spelled, it is read as one', () => {
  const env = [
    '.env',
    './.env',
    './a/../.env',
    'a//b/../../.env',
    '.env/',
    '.env//',
    '.env/.',
    '/w/proj/.env',
    '//w/proj/.env',
    '/w/./proj/x/../.env',
    'file:///w/proj/.env',
    'FILE:///w/proj/.env',
    'file://localhost/w/proj/%2Eenv',
    'file:///w/proj/a/../.env',
    '../../../../../w/proj/.env',
    '~/../../w/proj/.env',
  ]
  test.each(env)('%s', (text) => expect(readPath(text, linux)).toBe('/w/proj/.env'))

  const others: [text: string, path: string][] = [
    ['.', '/w/proj'],
    ['/', '/'],
    ['../x', '/w/x'],
    ['~', '/home/me'],
    ['~/', '/home/me'],
    ['~/.ssh/id', '/home/me/.ssh/id'],
    ['./~', '/w/proj/~'],
    ['~other/x', '/w/proj/~other/x'],
    ['a~', '/w/proj/a~'],
    ['file:///w/a%20b', '/w/a b'],
    ['.env.', '/w/proj/.env.'],
    ['a:b', '/w/proj/a:b'],
    ['a\\b', '/w/proj/a\\b'],
    [' ', '/w/proj/ '],
    ['x'.repeat(300), `/w/proj/${'x'.repeat(300)}`],
  ]
  test.each(others)('%s', (text, path) => expect(readPath(text, linux)).toBe(path))
})

describe('what cannot be a path is refused, and says why', () => {
  const refused: [what: string, text: unknown, code: string, message: RegExp][] = [
    ['nothing', '', 'EINVAL', /path is empty; give/],
    ['a NUL', 'a\0.txt', 'EINVAL', /NUL/],
    ['a NUL in a URL', 'file:///w/a%00b', 'EINVAL', /NUL/],
    ['a number', 7, 'EINVAL', /must be a string, not number/],
    ['no value', undefined, 'EINVAL', /must be a string, not undefined/],
    ['half a character', 'a\ud800', 'EINVAL', /lone surrogate/],
    ['a file URL of another machine', 'file://server/share/x', 'EINVAL', /no file URL of this machine; give the plain/],
    ['a slash hidden in a URL', 'file:///w/a%2Fb', 'EINVAL', /no file URL/],
    ['a URL with a fragment', 'file:///w/a#L10', 'EINVAL', /no file URL/],
    ['too many letters', 'x/'.repeat(2500), 'ENAMETOOLONG', /too long \(5007\)/],
    ['too many bytes', '漢'.repeat(1400), 'ENAMETOOLONG', /too long \(4208\)/],
  ]
  test.each(refused)('%s', (_, text, code, message) => {
    const error = problemOf(() => readPath(text, linux))
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(error.message.length).toBeLessThan(300)
  })

  test('a path of the longest length is not', () => {
    const text = `${'x'.repeat(99)}/`.repeat(40)
    expect(readPath(`/${text}${'y'.repeat(94)}`, linux)).toHaveLength(4095)
    expect(problemOf(() => readPath(`/${text}${'y'.repeat(95)}`, linux))).toMatchObject({ code: 'ENAMETOOLONG' })
  })

  test('a home that cannot be told harms only who asks for it', () => {
    const home = () => {
      throw new Error('no home')
    }
    expect(readPath('x', { ...linux, home })).toBe('/w/proj/x')
    expect(() => readPath('~/x', { ...linux, home })).toThrow('no home')
  })
})

describe('FS-13 on Windows', () => {
  const env = [
    '.env',
    '.\\a\\..\\.env',
    './.env',
    '.env.',
    '.env ',
    '.env. . ',
    '.env\\',
    'C:\\w\\proj\\.env',
    'C:/w/proj/.env',
    'C:\\w\\proj.\\.env',
    '\\w\\proj\\.env',
    'file:///C:/w/proj/.env',
  ]
  test.each(env)('%s is the same file', (text) => expect(readPath(text, windows)).toBe('C:\\w\\proj\\.env'))

  const others: [text: string, path: string][] = [
    ['~\\x', 'C:\\Users\\me\\x'],
    ['..\\x', 'C:\\w\\x'],
    ['console.log', 'C:\\w\\proj\\console.log'],
    ['com10', 'C:\\w\\proj\\com10'],
    ['backup~', 'C:\\w\\proj\\backup~'],
    ['a-long-name~1.txt', 'C:\\w\\proj\\a-long-name~1.txt'],
    ['notes.~1~', 'C:\\w\\proj\\notes.~1~'],
  ]
  test.each(others)('%s is allowed', (text, path) => expect(readPath(text, windows)).toBe(path))

  const refused: [text: string, message: RegExp][] = [
    ['\\\\?\\C:\\w\\proj\\.env', /device namespace/],
    ['//?/C:/w', /device namespace/],
    ['\\\\.\\PhysicalDrive0', /device namespace/],
    ['\\??\\C:\\w', /device namespace/],
    ['\\\\server\\share\\x', /network path/],
    ['//server/share/x', /network path/],
    ['file://server/share/x', /network path/],
    ['C:x', /current folder of a drive/],
    ['C:', /current folder of a drive/],
    ['.env::$DATA', /stream inside a file/],
    ['C:\\w\\x:hidden', /stream inside a file/],
    ['a\\x:y\\z', /stream inside a file/],
    ['NUL', /name of a device \(NUL\)/],
    ['a\\con.txt', /name of a device/],
    ['aux .c', /name of a device/],
    ['LPT1', /name of a device/],
    ['COM¹', /name of a device/],
    ['CONIN$', /name of a device/],
    ['C:\\PROGRA~1\\x', /short name \(PROGRA~1\)/],
    ['GIT~1\\config', /short name/],
    ['ENV~1.TXT', /short name/],
    ['a\\...\\b', /nothing but dots/],
    ['x'.repeat(33_000), /too long/],
  ]
  test.each(refused)('%s is refused', (text, message) => expect(() => readPath(text, windows)).toThrow(message))
})

function problemOf(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('it must fail and did not')
}
