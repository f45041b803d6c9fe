import type { DocumentBlock, ImageBlock, ToolResultBlock } from '../../core/turn.ts'

export const imagesOf = ({ output }: ToolResultBlock): readonly ImageBlock[] =>
  typeof output === 'string' ? [] : output.filter((part) => part.type === 'image')

export const dataUrl = ({ mediaType, data }: ImageBlock | DocumentBlock): string => `data:${mediaType};base64,${data}`
