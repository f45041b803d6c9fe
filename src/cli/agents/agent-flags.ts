import type { Values } from '../command.ts'
import { runFlags } from '../commands/run.ts'

const { provider, model, mode, allow, deny, yolo } = runFlags

/** How an agent works, as `libero run` takes it. */
export const workFlags = { provider, model, mode, allow, deny, yolo } as const

export type WorkValues = Values<typeof workFlags>
