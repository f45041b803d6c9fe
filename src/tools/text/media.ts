import type { OpenFile } from '../../core/execution.ts'
import type { ToolOutput } from '../../core/turn.ts'
import { readAll } from '../../platform/files-of.ts'
import { type ImageInfo, imageInfo, isCompleteImage, maxImageBase64, maxImageSide } from '../../platform/image-info.ts'
import { visibleName } from '../../platform/visible-text.ts'

const maxPdfBytes = 20 * 1024 * 1024

/** An image or a PDF for the model, or why it cannot be shown; `undefined` for other files. */
export async function readMedia(file: OpenFile, path: string, head: Uint8Array): Promise<ToolOutput | undefined> {
  const { size } = file.info
  if (startsWith(head, '%PDF-')) return readPdf(file, path)
  const info = imageInfo(Buffer.from(head).toString('base64'))
  if (!info) return undefined
  const what = `${visibleName(path)}: ${info.type}${sizeText(info)}, ${bytesText(size)}`
  if (Math.ceil(size / 3) * 4 > maxImageBase64)
    return `[${what}: too large to look at; make it smaller than ${bytesText((maxImageBase64 / 4) * 3)}, for instance with ImageMagick, and read the smaller copy]`
  if (Math.max(info.width ?? 0, info.height ?? 0) > maxImageSide)
    return `[${what}: too large to look at; scale it down to at most ${maxImageSide} pixels a side and read the smaller copy]`
  const bytes = Buffer.from(await readAll(file))
  if (!isCompleteImage(bytes, info)) return `[${what}: damaged or cut off, so it cannot be looked at; get it again]`
  return [
    { type: 'text', text: what },
    { type: 'image', mediaType: info.type, data: bytes.toString('base64') },
  ]
}

async function readPdf(file: OpenFile, path: string): Promise<ToolOutput> {
  const { size } = file.info
  const what = `${visibleName(path)}: application/pdf, ${bytesText(size)}`
  if (size > maxPdfBytes)
    return `[${what}: larger than the ${bytesText(maxPdfBytes)} that can be read at once; take out the pages you need, or its text, with a command such as pdftotext]`
  const bytes = Buffer.from(await readAll(file))
  // PDF readers search the end mark in the last 1024 bytes.
  if (!bytes.subarray(-1024).includes('%%EOF')) return `[${what}: damaged or cut off; get it again]`
  const name = path.slice(path.lastIndexOf('/') + 1)
  return [
    { type: 'text', text: what },
    { type: 'document', mediaType: 'application/pdf', data: bytes.toString('base64'), name },
  ]
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text
const sizeText = ({ width, height }: ImageInfo): string => (width && height ? `, ${width}×${height}` : '')

/** A number of bytes for people and models. */
export const bytesText = (count: number): string => `${grouped(count)} ${count === 1 ? 'byte' : 'bytes'}`

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

/** The type of a file by its first bytes; `undefined` if unknown. */
export function binaryKind(head: Uint8Array): string | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 512)).toString('latin1')
  return kinds.find(([magic, , at = 0]) => start.startsWith(magic, at))?.[1]
}

const kinds: readonly (readonly [magic: string, kind: string, at?: number])[] = [
  ['PK\x03\x04', 'application/zip'],
  ['PK\x05\x06', 'application/zip'],
  ['\x1f\x8b', 'application/gzip'],
  ['BZh', 'application/x-bzip2'],
  ['\xfd7zXZ\0', 'application/x-xz'],
  ['\x28\xb5\x2f\xfd', 'application/zstd'],
  ['7z\xbc\xaf\x27\x1c', 'application/x-7z-compressed'],
  ['Rar!\x1a\x07', 'application/vnd.rar'],
  ['ustar', 'application/x-tar', 257],
  ['!<arch>\n', 'application/x-archive'],
  ['\x7fELF', 'ELF program or library'],
  ['MZ', 'Windows program or library'],
  ['\xcf\xfa\xed\xfe', 'Mach-O program or library'],
  ['\xca\xfe\xba\xbe', 'Java class or Mach-O'],
  ['\0asm', 'application/wasm'],
  ['SQLite format 3\0', 'application/vnd.sqlite3'],
  ['PAR1', 'application/vnd.apache.parquet'],
  ['\x93NUMPY', 'NumPy array'],
  ['%PDF-', 'application/pdf'],
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['WEBP', 'image/webp', 8],
  ['BM', 'image/bmp'],
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
  ['\0\0\x01\0', 'image/x-icon'],
  ['WAVE', 'audio/wav', 8],
  ['AVI ', 'video/x-msvideo', 8],
  ['ID3', 'audio/mpeg'],
  ['OggS', 'application/ogg'],
  ['fLaC', 'audio/flac'],
  ['ftyp', 'video/mp4', 4],
  ['\x1a\x45\xdf\xa3', 'video/webm'],
  ['wOFF', 'font/woff'],
  ['wOF2', 'font/woff2'],
  ['\0\x01\0\0', 'font/ttf'],
  ['OTTO', 'font/otf'],
  ['\xff\xfe\0\0', 'text in UTF-32'],
  ['\0\0\xfe\xff', 'text in UTF-32'],
]
