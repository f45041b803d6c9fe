import type { ThinkingLevel } from '../../core/thinking.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ChosenModel } from '../models/choose-model.ts'

/** A notice where a wish to think has no effect: how services of the settings are asked to think is not known. */
export function aboutThinking({ name, isConfigured }: ChosenModel, thinking: ThinkingLevel | undefined): string[] {
  if (!isConfigured || thinking === undefined || thinking === 'off') return []
  return [`--thinking ${thinking} has no effect with ${fullyVisible(name)}: how it is asked to think is not known.`]
}
