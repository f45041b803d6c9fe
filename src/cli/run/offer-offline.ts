import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import { interactWith } from '../assembly/interact-with.ts'

/** Asks the person at the terminal whether to go on without a language model. */
export async function offerOffline(person: Interactor): Promise<boolean> {
  const ask = await interactWith(person)
  const prompt =
    'No model is set up yet; libero login does that. Go on with the offline model? It is a small set of rules, not a language model, and needs neither a key nor a network.'
  const answer = await ask({ kind: 'Confirm', payload: { kind: 'Confirm', prompt } }, new AbortController().signal)
  return answer.status === 'accepted'
}
