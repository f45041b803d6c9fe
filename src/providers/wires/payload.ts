import type { DocumentBlock, ImageBlock, ProviderData, ToolResultBlock } from '../../core/turn.ts'
import { StreamError } from '../wire.ts'

/** The images and documents of a result. */
export const mediaOf = ({ output }: ToolResultBlock): readonly (ImageBlock | DocumentBlock)[] =>
  typeof output === 'string' ? [] : output.filter((part) => part.type !== 'text')

export const dataUrl = ({ mediaType, data }: ImageBlock | DocumentBlock): string => `data:${mediaType};base64,${data}`

/** The first positive amount (of tokens or money), else the first valid one: services write amounts in several places, and some are wrong. */
export function firstAmount(...values: readonly unknown[]): number | undefined {
  const amounts = values.filter((value): value is number => Number.isFinite(value) && (value as number) >= 0)
  return amounts.find((amount) => amount > 0) ?? amounts[0]
}

/** The id that a service gives its reply, if it gives one. */
export const replyId = (id: unknown): { readonly responseId?: string } => (isNonEmptyText(id) ? { responseId: id } : {})

export const isNonEmptyText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Data that a block must carry when it is sent back to the service from which it came. */
export const withProviderData = (wire: string, data: object): { readonly providerData: ProviderData } => ({
  providerData: { [wire]: data },
})

/** The data that this wire stored with a block. */
export function providerDataOf<Own extends object>(
  wire: string,
  block: { readonly providerData?: ProviderData },
): Partial<Own> {
  return (block.providerData?.[wire] ?? {}) as Partial<Own>
}

/** An error inside a stream; `status` is the HTTP status that the same error has outside of a stream. */
interface Failure {
  readonly message: string
  readonly code: string
  readonly status?: number | undefined
  /** Default: according to the status; an unknown error is retryable. */
  readonly retryable?: boolean | undefined
}

/** Classifies an error inside a stream as the same error outside of one. */
export function streamFailure({ message, code, status, retryable }: Failure): StreamError {
  const isTransient = status === undefined || status === 408 || status === 409 || status >= 429
  return new StreamError(message, {
    code,
    retryable: retryable ?? isTransient,
    ...(status !== undefined && { status }),
  })
}
