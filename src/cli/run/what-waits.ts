import type { Session } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { changeIn } from '../sessions/change-in.ts'

/** For a person: which calls wait for an answer, and how to give it. */
export async function whatWaits(session: Session): Promise<string[]> {
  const pending = await session.pendingInTree()
  const id = fullyVisible(session.id)
  return [
    ...pending.flatMap(({ name, input, reason, request }) => [
      `waits for permission: ${fullyVisible(name)} ${fullyVisible(JSON.stringify(input))} (${fullyVisible(reason)})`,
      ...changeIn(request).map((line) => `    ${line}`),
    ]),
    `Nobody could be asked, so nothing of it was done. To answer: libero sessions answer ${id} allow; then: libero --resume ${id}`,
    'Or run it in a terminal, or allow it beforehand with --allow.',
  ]
}
