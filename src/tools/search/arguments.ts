import type { ToolCheck } from '../../core/tool.ts'

/** Entries on a page unless the model says otherwise. */
export const defaultPage = 250
/** Entries on a page at most, also when all are wanted. */
export const largestPage = 20_000
/** Beyond it a search should be narrower. */
const largestOffset = 200_000

export const pageProperties = {
  head_limit: {
    type: 'integer',
    description: `How many entries to show. Default ${defaultPage}; 0 for all, up to ${largestPage}.`,
  },
  offset: { type: 'integer', description: 'How many entries to skip, for the next page. Default 0.' },
} as const

export interface PageInput {
  readonly head_limit?: number
  readonly offset?: number
}

export function pageOf({ head_limit = defaultPage, offset = 0 }: PageInput): { skip: number; take: number } {
  return { skip: offset, take: head_limit === 0 ? largestPage : Math.min(head_limit, largestPage) }
}

/** Refuses numbers that mean nothing. */
export function checkNumbers(input: Record<string, unknown>, names: readonly string[]): ToolCheck | undefined {
  for (const name of names) {
    const value = input[name]
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
      return { valid: false, error: `"${name}" must be a whole number, and not negative; got ${value}` }
  }
  const { offset } = input
  if (typeof offset === 'number' && offset > largestOffset)
    return { valid: false, error: `"offset" is at most ${largestOffset}; search for less instead` }
  return undefined
}
