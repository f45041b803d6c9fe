import { expect, test } from 'vitest'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock, scripted } from '../../testing/index.ts'
import { createWorkflow } from '../../workflow/workflow.ts'
import { isSchedulerRunning, notifyOnWaking } from './scheduler-state.ts'

test('a process that waits to wake agents is notified when it takes over', async () => {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  const heard: string[] = []
  const open = (name: string) =>
    createWorkflow({
      ...{ clock, definitions: [{ id: 'a' }], provider: scripted() },
      store: notifyOnWaking(store, () => heard.push(name)),
    })
  const [first, second] = [open('first'), open('second')]
  await first.start()
  await second.start()
  expect(heard).toEqual(['first'])
  expect(await isSchedulerRunning(store)).toBe(true)
  await first.close()
  await clock.advance(10_000)
  await expect.poll(() => heard).toEqual(['first', 'second'])
  await second.close()
})
