import { messageOf } from '../../core/errors.ts'
import { createRedactor } from '../../platform/redact.ts'

/** What is wrong with an entry, without a key that stands in what it quotes. */
export const entryProblem = (error: unknown): string => createRedactor().text(messageOf(error))
