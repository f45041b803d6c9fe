import jsqr from 'jsqr'
import { expect, test } from 'vitest'
import { qrCode } from './qr-code.ts'

// The package has types of a module, and is one of CommonJS.
const read = jsqr as unknown as (typeof jsqr)['default']

/** What a camera reads of the rows: each half block as two fields of 4 by 4 dots, dark where the block is. */
function scanned(rows: readonly string[]): string | undefined {
  const scale = 4
  const fields = rows.flatMap((row) => [
    [...row].map((one) => '▀█'.includes(one)),
    [...row].map((one) => '▄█'.includes(one)),
  ])
  const [width, height] = [fields[0]!.length * scale, fields.length * scale]
  const dots = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      dots.fill(
        fields[Math.floor(y / scale)]![Math.floor(x / scale)] ? 0 : 255,
        (y * width + x) * 4,
        (y * width + x) * 4 + 4,
      )
  return read(dots, width, height)?.data
}

test.each([
  'http://127.0.0.1:4173/#token=AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE',
  'https://desk.example:8443/libero/#token=x',
  'Grüße, 世界',
])('WB43 a camera reads %s from the half blocks', async (text) => {
  expect(scanned((await qrCode(text))!)).toBe(text)
})

test('WB43 rows are of one width, have a margin, and are black on white with colours', async () => {
  const rows = (await qrCode('http://127.0.0.1:1/#token=x'))!
  expect(new Set(rows.map((row) => row.length)).size).toBe(1)
  expect([rows[0]!.trim(), rows[3]!.slice(0, 2)]).toEqual(['', '  '])
  const coloured = (await qrCode('http://127.0.0.1:1/#token=x', { hasColours: true }))!
  expect(coloured.map((row) => row.slice('\u001b[38;5;16;48;5;231m'.length, -'\u001b[0m'.length))).toEqual(rows)
  expect(await qrCode('x'.repeat(501))).toBeUndefined()
})
