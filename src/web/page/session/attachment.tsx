import { useEffect, useState } from 'preact/hooks'
import { type LogEntry, type SessionContentBlock, visibleName } from '../libero.ts'
import { useWholeEntry } from './use-whole-entry.ts'

type AttachedBlock = Extract<SessionContentBlock, { type: 'image' | 'document' }>

export interface AttachmentProps {
  readonly block: AttachedBlock
  readonly seq: number | undefined
  /** Its place in the content of the entry. */
  readonly place: number
}

/** An image, or the name of a file. The page keeps no pictures: they are read when they come into sight. */
export function Attachment({ block, seq, place }: AttachmentProps) {
  const isImage = block.type === 'image' && shownTypes.has(block.mediaType)
  const entry = useWholeEntry(isImage && block.data === '' ? seq : undefined)
  const found = blockIn(entry, place)
  const data = block.data !== '' ? block.data : found?.type === 'image' ? found.data : ''
  const address = useImageAddress(isImage ? data : '', block.mediaType)
  if (!isImage) return <p class="attachment">{`${block.type}: ${visibleName(nameOf(block))}`}</p>
  return <div class="attached-image">{address !== undefined && <img src={address} alt="Attached by the sender" />}</div>
}

/** Images that no browser takes for a document. */
const shownTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

const nameOf = (block: AttachedBlock): string =>
  'name' in block && typeof block.name === 'string' ? block.name : block.mediaType

function blockIn(entry: LogEntry | undefined, place: number): SessionContentBlock | undefined {
  if (entry?.type === 'turn') return entry.turn.content[place]
  if (entry?.type === 'call_result') return typeof entry.output === 'string' ? undefined : entry.output[place]
  return entry?.type === 'input' ? entry.content[place] : undefined
}

function useImageAddress(data: string, type: string): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    if (data === '') return
    const made = URL.createObjectURL(new Blob([bytesOf(data)], { type }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [data, type])
  return address
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
