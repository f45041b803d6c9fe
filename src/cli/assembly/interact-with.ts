import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { createIds, systemClock } from '../../core/clock.ts'
import type { Interact } from '../../core/interaction.ts'

/** Asks one person, before there is an authority that could. */
export async function interactWith(person: Interactor): Promise<Interact> {
  const { createInteractions, interactThrough } = await import('../../authority/interaction/interactions.ts')
  const interactions = createInteractions({ clock: systemClock, newId: createIds() })
  interactions.attach(person)
  return interactThrough(interactions)
}
