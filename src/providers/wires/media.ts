import type { DocumentBlock, ImageBlock, ToolResultBlock } from '../../core/turn.ts'

/** The images and documents of a result. */
export const mediaOf = ({ output }: ToolResultBlock): readonly (ImageBlock | DocumentBlock)[] =>
  typeof output === 'string' ? [] : output.filter((part) => part.type !== 'text')

export const dataUrl = ({ mediaType, data }: ImageBlock | DocumentBlock): string => `data:${mediaType};base64,${data}`
