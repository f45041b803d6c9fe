import { type Drifted, editDrifts } from './edit-drifts.ts'
import { editSample } from './edit-samples.ts'
import type { Outcome } from './outcome.ts'
import { Random } from './random.ts'

/** The names of all kinds of drift. */
export const editKinds: readonly string[] = Object.keys(editDrifts)

/** One case of a kind. The seeds after this one are tried where the edit of this one cannot drift so. */
export function editCase(kind: string, seed: number): Drifted {
  for (let next = seed; ; next++) {
    const random = new Random(next)
    const drifted = editDrifts[kind]!(editSample(random), random)
    if (drifted) return drifted
  }
}

/** Makes an edit; `undefined` for a refusal. */
export type MakeEdit = (one: Pick<Drifted, 'text' | 'old' | 'new'>) => string | undefined

/** What an editor makes of a case. */
export function editOutcome(one: Drifted, make: MakeEdit): Outcome {
  const text = make(one)
  if (text === undefined) return 'refused'
  return text === one.meant ? 'exact' : 'wrong'
}
