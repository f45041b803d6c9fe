import type { Interactor, Prompt } from '../authority/interaction/interactor-queue.ts'

/** An interactor that keeps questions until the person answers them: `onChange` gets those that are open, oldest first. */
export function createPrompts(onChange: (prompts: readonly Prompt[]) => void): Interactor {
  let prompts: readonly Prompt[] = []
  const change = (next: readonly Prompt[]): void => {
    prompts = next
    onChange(prompts)
  }
  return {
    name: 'user',
    present(prompt) {
      change([...prompts, prompt])
      prompt.signal.addEventListener('abort', () => change(prompts.filter((one) => one !== prompt)), { once: true })
    },
  }
}
