import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'

/** Throws on a file that no service would accept, before the message is logged. */
export function checkFile(file: unknown, where: string): void {
  if (!isRecord(file))
    throw new TypeError(`${where}: a file is { mediaType, data, name? }, data in base64, got ${show(file)}`)
  const { mediaType, data, name } = file
  if (typeof mediaType !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType))
    throw new TypeError(`${where}: file.mediaType must be a media type such as "image/png", got ${show(mediaType)}`)
  if (typeof data !== 'string' || !isBase64(data))
    throw new TypeError(`${where}: file.data must be base64, without "data:…," before it, got ${show(data)}`)
  if (name !== undefined && typeof name !== 'string')
    throw new TypeError(`${where}: file.name must be a text, got ${show(name)}`)
}

const isBase64 = (data: string): boolean => data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
