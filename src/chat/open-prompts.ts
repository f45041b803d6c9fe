import type { Interactor, Prompt } from '../authority/interaction/interactor-queue.ts'
import { isRecord } from '../core/is-record.ts'

/**
 * An interactor that keeps questions until the person answers them: `onChange` gets those that are open, oldest first.
 * `beforeBuilding` comes before the approval of a plan: it is built at once, which the mode `plan` would refuse.
 */
export function createPrompts(
  onChange: (prompts: readonly Prompt[]) => void,
  beforeBuilding: () => Promise<unknown> = async () => {},
): Interactor {
  let prompts: readonly Prompt[] = []
  const change = (next: readonly Prompt[]): void => {
    prompts = next
    onChange(prompts)
  }
  const aboutPlan = (prompt: Prompt): Prompt => ({
    ...prompt,
    respond(answer) {
      const isYes = answer === true || (isRecord(answer) && answer.status === 'accepted')
      if (!isYes) return prompt.respond(answer)
      void beforeBuilding().then(() => prompt.signal.aborted || prompt.respond(answer))
    },
  })
  return {
    name: 'user',
    present(given) {
      const prompt = typeof given.payload.plan === 'string' ? aboutPlan(given) : given
      change([...prompts, prompt])
      prompt.signal.addEventListener('abort', () => change(prompts.filter((one) => one !== prompt)), { once: true })
    },
  }
}
