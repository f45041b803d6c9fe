import { describe, expect, test } from 'vitest'
import { imageInfo, isBase64 } from './image-info.ts'

const bytes = (...parts: (string | readonly number[])[]): string =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  ).toString('base64')
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0)
const big32 = (value: number): number[] => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
const big16 = (value: number): number[] => [value >>> 8, value & 255]

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const png = (width: number, height: number): string =>
  bytes(pngStart, big32(13), 'IHDR', big32(width), big32(height), [8, 6, 0, 0, 0], zeros(40))
const segment = (marker: number, length: number): number[] => [0xff, marker, ...big16(length + 2), ...zeros(length)]
const frame = (marker: number, width: number, height: number): number[] => [
  ...[0xff, marker, 0, 17, 8, ...big16(height), ...big16(width), 3],
  ...zeros(9),
]
const jpegStart = [0xff, 0xd8]
const webp = (kind: string, ...data: (string | readonly number[])[]): string =>
  bytes('RIFF', zeros(4), 'WEBP', kind, zeros(4), ...data, zeros(20))

describe('the first bytes tell what an image is and how large', () => {
  const images: Record<string, [data: string, info: ReturnType<typeof imageInfo>]> = {
    'a PNG': [png(640, 480), { type: 'image/png', width: 640, height: 480 }],
    'a PNG of three billion pixels a side': [
      png(3_000_000_000, 3_000_000_000),
      { type: 'image/png', width: 3_000_000_000, height: 3_000_000_000 },
    ],
    'a PNG that says 0': [png(0, 480), { type: 'image/png' }],
    'a PNG that is cut in its height': [
      bytes(pngStart, big32(13), 'IHDR', big32(640), [0, 0, 1]),
      { type: 'image/png' },
    ],
    'a PNG that begins with something else': [
      bytes(pngStart, big32(4), 'CgBI', big32(1_342_185_474), big32(13), 'IHDR'),
      { type: 'image/png' },
    ],
    'a PNG that is cut short': [bytes(pngStart), { type: 'image/png' }],
    'a GIF of 1987': [
      bytes('GIF87a', [0x40, 0x01, 0xc8, 0x00], zeros(10)),
      { type: 'image/gif', width: 320, height: 200 },
    ],
    'a GIF of 1989': [
      bytes('GIF89a', [0x40, 0x01, 0xc8, 0x00], zeros(10)),
      { type: 'image/gif', width: 320, height: 200 },
    ],
    'a JPEG': [
      bytes(jpegStart, segment(0xe0, 14), frame(0xc0, 800, 600)),
      { type: 'image/jpeg', width: 800, height: 600 },
    ],
    'a progressive JPEG behind a profile of 40 KB': [
      bytes(jpegStart, segment(0xe1, 20_000), segment(0xe2, 20_000), segment(0xc4, 30), frame(0xc2, 4000, 3000)),
      { type: 'image/jpeg', width: 4000, height: 3000 },
    ],
    'a JPEG with fill bytes': [
      bytes(jpegStart, [0xff], frame(0xc0, 8, 9)),
      { type: 'image/jpeg', width: 8, height: 9 },
    ],
    'a JPEG whose frame lies too far behind': [
      bytes(jpegStart, segment(0xe1, 60_000), segment(0xe2, 60_000), frame(0xc0, 8, 9)),
      { type: 'image/jpeg' },
    ],
    'a JPEG with a segment of no length': [bytes(jpegStart, [0xff, 0xe0, 0, 0], zeros(40)), { type: 'image/jpeg' }],
    'a JPEG without a frame': [bytes(jpegStart, segment(0xda, 10), frame(0xc0, 8, 9)), { type: 'image/jpeg' }],
    'a lossy WebP': [
      webp('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, 0x20, 0x03, 0x58, 0x02]),
      { type: 'image/webp', width: 800, height: 600 },
    ],
    'a lossless WebP': [webp('VP8L', [0x2f, 0x1f, 0xc3, 0x95, 0x00]), { type: 'image/webp', width: 800, height: 600 }],
    'a lossless WebP without its mark': [webp('VP8L', [0x2e, 0x1f, 0xc3, 0x95, 0x00]), { type: 'image/webp' }],
    'an extended WebP': [
      webp('VP8X', [0, 0, 0, 0, 0x1f, 0x03, 0x00, 0x57, 0x02, 0x00]),
      { type: 'image/webp', width: 800, height: 600 },
    ],
    'a WebP of a kind to come': [webp('VP9 '), { type: 'image/webp' }],
  }

  test.each(Object.entries(images))('%s', (_, [data, info]) => {
    expect(imageInfo(data)).toEqual(info)
  })

  test('line breaks in the base64 do not matter', () => {
    expect(imageInfo(png(640, 480).replace(/.{20}/g, '$&\n'))).toMatchObject({
      type: 'image/png',
      width: 640,
      height: 480,
    })
  })
})

test.each([
  ['nothing', ''],
  ['a text', bytes('hello, this is no image at all')],
  ['a PDF', bytes('%PDF-1.7', zeros(40))],
  ['a BMP', bytes('BM', zeros(60))],
  ['a sound in RIFF', bytes('RIFF', zeros(4), 'WAVE', zeros(40))],
  ['an SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['a data URL', `data:image/png;base64,${png(1, 1)}`],
  ['no base64', '!!!!'],
])('%s is no image for a model', (_, data) => {
  expect(imageInfo(data)).toBeUndefined()
})

test.each(['QQ==', 'QUI=', 'QUJD', 'ab+/', '0129'])('%s is base64', (text) => {
  expect(isBase64(text)).toBe(true)
})

test.each([
  ['nothing', ''],
  ['no padding', 'QQ'],
  ['a single character', 'Q==='],
  ['padding alone', '===='],
  ['padding in the middle', 'QQ==QUJD'],
  ['a padding character before the last two', 'Q=JD'],
  ['the URL alphabet', 'ab-_'],
  ['a line break', 'QUJD\nQUI'],
  ['a space', 'QUJD QUI'],
  ['a letter that is none', 'QUJé'],
  ['something outside the first plane', 'QU😀'],
  ['a data URL', 'data:image/png;base64,QUJD'],
])('%s is not base64', (_, text) => {
  expect(isBase64(text)).toBe(false)
})

test('twenty megabytes are read through without a stack or a backtrack', () => {
  const long = 'QUJD'.repeat(5_000_000)
  expect(isBase64(long)).toBe(true)
  expect(isBase64(`${long.slice(0, -1)}!`)).toBe(false)
  expect(imageInfo(long)).toBeUndefined()
})
