import type { Result } from './measure.ts'
import { tuiInProcess } from './tui-in-process.ts'
import { tuiInTerminal } from './tui-in-terminal.ts'

/** What a person at the interactive terminal waits for, and what it costs while an answer streams. */
export const tui = async (): Promise<Result[]> => [...(await tuiInProcess()), ...(await tuiInTerminal())]

/** How many goals the parts have. */
export const tuiGoals = 14
