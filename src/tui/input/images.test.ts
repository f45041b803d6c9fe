import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { clipboardImage, type RunProgram } from './clipboard-image.ts'
import { Editor } from './editor.ts'
import { attachImageFile, imagePathIn } from './images.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const image = { type: 'image', mediaType: 'image/png', data: png.toString('base64') }

test('UI17 an image is attached by its path, as terminals paste it when a file is dropped', async () => {
  const folder = await temporary('images-')
  const path = join(folder, 'my shot.PNG')
  writeFileSync(path, png)
  const forms = [path.replaceAll(' ', '\\ '), `'${path}'`, `"${path}" `, pathToFileURL(path).href, `  '${path}'\n`]
  for (const form of forms) expect(imagePathIn(form), form).toBe(path)
  const editor = new Editor('see ')
  editor.attach(await attachImageFile(path, '/'))
  expect(editor.message()).toEqual({
    text: 'see [image 1: my shot.PNG, 70 bytes]',
    parts: [{ type: 'text', text: 'see [image 1: my shot.PNG, 70 bytes]' }, image],
  })
  expect(imagePathIn('~/a.webp', { home: '/home/ada' })).toBe('/home/ada/a.webp')
  expect(imagePathIn('C:\\shots\\a.png')).toBe('C:\\shots\\a.png')
})

test('sentences, other files and several lines are no images', () => {
  for (const text of [
    'look at a.png',
    'notes.txt',
    'a.png\nb.png',
    'file://host:x/a.png',
    '',
    `${'x'.repeat(5000)}.png`,
  ])
    expect(imagePathIn(text), text.slice(0, 20)).toBeUndefined()
})

test('a file that is no image, is missing or is too large is refused in words', async () => {
  const folder = await temporary('images-')
  writeFileSync(join(folder, 'fake.png'), 'text')
  writeFileSync(join(folder, 'large.png'), Buffer.concat([png, Buffer.alloc(20 * 1024 * 1024)]))
  await expect(attachImageFile('fake.png', folder)).rejects.toThrow('fake.png is not a PNG, JPEG, GIF or WebP')
  await expect(attachImageFile('none.png', folder)).rejects.toThrow('none.png: there is no such file')
  await expect(attachImageFile('large.png', folder)).rejects.toThrow('make it smaller')
})

const missing: RunProgram = () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' }))

test('UI18 an image is taken from the clipboard by the program that this system has', async () => {
  const has =
    (name: string, output: Buffer): RunProgram =>
    (program, args) =>
      program === name ? Promise.resolve(output) : missing(program, args)
  const hex = Buffer.from(`«data PNGf${png.toString('hex').toUpperCase()}»\n`)
  const base64 = Buffer.from(`${png.toString('base64')}\r\n`)
  const cases = [
    { platform: 'linux', env: { WAYLAND_DISPLAY: 'wayland-0' }, run: has('wl-paste', png) },
    { platform: 'linux', env: { DISPLAY: ':0' }, run: has('xclip', png) },
    { platform: 'linux', env: { WSL_DISTRO_NAME: 'Debian' }, run: has('powershell.exe', base64) },
    { platform: 'darwin', env: {}, run: has('osascript', hex) },
    { platform: 'win32', env: {}, run: has('powershell.exe', base64) },
  ] as const
  for (const options of cases)
    expect(await clipboardImage(options), options.platform).toEqual({
      kind: 'image',
      name: 'clipboard',
      bytes: 70,
      image,
    })
})

test('without an image the error says which programs are missing and what else works', async () => {
  const run: RunProgram = (program, args) =>
    program === 'xclip' ? Promise.resolve(Buffer.from('text')) : missing(program, args)
  await expect(clipboardImage({ platform: 'linux', env: {}, run })).rejects.toThrow(
    'There is no image on the clipboard: xclip gives no image; wl-paste is not installed. A path to an image works too.',
  )
  await expect(clipboardImage({ platform: 'linux', env: {}, run: missing })).rejects.toThrow('xclip is not installed')
})
