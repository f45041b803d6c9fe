import type { OpenFile } from '../../core/execution.ts'
import type { ToolOutput } from '../../core/turn.ts'
import { readAll } from '../../platform/files-of.ts'
import { type ImageInfo, imageInfo } from '../../platform/image-info.ts'
import { visibleName } from '../../platform/visible-text.ts'

/** More than this, as base64, no service takes as one image. */
const mostImageBase64 = 5 * 1024 * 1024
const mostPdfBytes = 20 * 1024 * 1024
/** Pixels along one side; beyond, services refuse. */
const longestSide = 8000

/** An image or a PDF as the model gets it, or why it does not; `undefined` for other files. */
export async function readMedia(file: OpenFile, path: string, head: Uint8Array): Promise<ToolOutput | undefined> {
  const { size } = file.info
  if (startsWith(head, '%PDF-')) return readPdf(file, path)
  const info = imageInfo(Buffer.from(head).toString('base64'))
  if (!info) return undefined
  const what = `${visibleName(path)}: ${info.type}${sizeText(info)}, ${bytesText(size)}`
  if (Math.ceil(size / 3) * 4 > mostImageBase64)
    return `[${what}: too large to look at; make it smaller than ${bytesText((mostImageBase64 / 4) * 3)}, for instance with ImageMagick, and read the smaller copy]`
  if (Math.max(info.width ?? 0, info.height ?? 0) > longestSide)
    return `[${what}: too large to look at; scale it down to at most ${longestSide} pixels a side and read the smaller copy]`
  const bytes = Buffer.from(await readAll(file))
  if (!isWhole(bytes, info)) return `[${what}: damaged or cut off, so it cannot be looked at; get it again]`
  return [
    { type: 'text', text: what },
    { type: 'image', mediaType: info.type, data: bytes.toString('base64') },
  ]
}

async function readPdf(file: OpenFile, path: string): Promise<ToolOutput> {
  const { size } = file.info
  const what = `${visibleName(path)}: application/pdf, ${bytesText(size)}`
  if (size > mostPdfBytes)
    return `[${what}: larger than the ${bytesText(mostPdfBytes)} that can be read at once; take out the pages you need, or its text, with a command such as pdftotext]`
  const bytes = Buffer.from(await readAll(file))
  // Its readers look for the end in the last 1024 bytes.
  if (!bytes.subarray(-1024).includes('%%EOF')) return `[${what}: damaged or cut off; get it again]`
  const name = path.slice(path.lastIndexOf('/') + 1)
  return [
    { type: 'text', text: what },
    { type: 'document', mediaType: 'application/pdf', data: bytes.toString('base64'), name },
  ]
}

/** Services refuse a request over an image that ends too early, and with it the whole conversation. */
function isWhole(bytes: Buffer, { type, width }: ImageInfo): boolean {
  if (type === 'image/jpeg') return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0
  if (width === undefined) return false
  if (type === 'image/png') return isBetween(24, bytes.lastIndexOf('IEND'), bytes.length - 8)
  if (type === 'image/gif') return bytes.findLast((byte) => byte !== 0) === 0x3b
  return bytes.readUInt32LE(4) + 8 <= bytes.length
}

const isBetween = (low: number, value: number, high: number): boolean => low <= value && value <= high

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text
const sizeText = ({ width, height }: ImageInfo): string => (width && height ? `, ${width}×${height}` : '')

/** A number of bytes for people and models. */
export const bytesText = (count: number): string => `${grouped(count)} ${count === 1 ? 'byte' : 'bytes'}`

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')
