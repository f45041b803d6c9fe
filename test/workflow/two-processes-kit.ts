import { expect } from 'vitest'
import type { Step } from '../../src/testing/scripted.ts'
import type { WorkflowOptions } from '../../src/workflow/workflow.ts'
import { world } from './kit.ts'

/** An agent that one of two workflows over a store works on, until it is stopped. */
export async function atWork(options: Partial<WorkflowOptions> = {}) {
  const { asked, step } = endless()
  const one = world([step], options)
  const two = one.again()
  const { id } = await one.workflow.createAgent('helper')
  expect((await two.workflow.getStatus(id)).state).toBe('submitted')
  const working = one.workflow.sendMsgToAgent(id, 'Long work')
  await asked
  return { one, two, id, working }
}

/** A model that ends only when it is told to. */
export function endless() {
  const asked = Promise.withResolvers<void>()
  const step = (_: unknown, signal: AbortSignal) => {
    asked.resolve()
    return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { step: step satisfies Step, asked: asked.promise }
}
