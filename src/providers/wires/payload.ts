import type { DocumentBlock, ImageBlock, ProviderData, ToolResultBlock } from '../../core/turn.ts'
import { StreamError } from '../wire.ts'

/** The images and documents of a result. */
export const mediaOf = ({ output }: ToolResultBlock): readonly (ImageBlock | DocumentBlock)[] =>
  typeof output === 'string' ? [] : output.filter((part) => part.type !== 'text')

export const dataUrl = ({ mediaType, data }: ImageBlock | DocumentBlock): string => `data:${mediaType};base64,${data}`

/** The first count of tokens that says something: services write numbers in several places, or zeros, or nonsense. */
export function countOf(...values: readonly unknown[]): number | undefined {
  const counts = values.filter((value): value is number => Number.isFinite(value) && (value as number) >= 0)
  return counts.find((count) => count > 0) ?? counts[0]
}

/** Whether a field of a payload says anything. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** What a block takes with it for the way back to the service that made it. */
export const withOwn = (wire: string, data: object): { readonly providerData: ProviderData } => ({
  providerData: { [wire]: data },
})

/** What a block brought along for this wire. */
export function ownOf<Own extends object>(wire: string, block: { readonly providerData?: ProviderData }): Partial<Own> {
  return (block.providerData?.[wire] ?? {}) as Partial<Own>
}

/** What a service says went wrong after its answer had begun; `status` is what it would have answered with before. */
export interface Failure {
  readonly message: string
  readonly code: string
  readonly status?: number | undefined
  /** Default: what the status means. What nobody knows may pass. */
  readonly retryable?: boolean | undefined
}

/** A failure in the middle of a stream is what it would have been outside of one. */
export function failureOf({ message, code, status, retryable }: Failure): StreamError {
  const isPassing = status === undefined || status === 408 || status === 409 || status >= 429
  return new StreamError(message, { code, retryable: retryable ?? isPassing, ...(status !== undefined && { status }) })
}
