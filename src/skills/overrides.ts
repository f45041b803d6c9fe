import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import { plainProvider } from '../core/provider.ts'
import type { Run } from '../core/run.ts'
import { isThinkingLevel, type ThinkingLevel, thinkingBudgets } from '../core/thinking.ts'
import type { ActiveSkills } from './active-skills.ts'
import type { Skill, SkillProblem } from './skill.ts'

/** Applies `model` and `thinking` of active skills to the turns of the run; the latest skill that sets one wins. */
export function applyOverrides(run: Run, hooks: HookScope<HookContexts>, active: ActiveSkills): void {
  let asked: { readonly level: ThinkingLevel; readonly budget: number } | undefined
  const known = new Map<string, boolean>()
  hooks.hook('request:prepare', async (request) => {
    const latest = active.all.toReversed().map(({ skill }) => skill)
    const model = latest.find(hasModel)?.model
    if (model !== undefined && (await isKnown(run, model, known))) request.model = model
    const level = latest.find(hasLevel)?.thinking as Level | undefined
    asked = level && { level, budget: level === 'off' ? 0 : thinkingBudgets[level] }
    if (asked) request.thinkingBudget = asked.budget
  })
  // The hook sets only a budget, but some services need the level.
  const provider = plainProvider(run.provider)
  run.provider = {
    ...provider,
    stream(request, signal) {
      const isOurs = asked !== undefined && asked.budget > 0 && request.thinkingBudget === asked.budget
      return provider.stream(isOurs ? { ...request, thinking: asked!.level } : request, signal)
    },
  }
}

type Level = keyof typeof thinkingBudgets | 'off'

/** Whether any skill sets `model` or `thinking`. */
export const haveOverrides = (skills: readonly Skill[]): boolean => skills.some((one) => hasModel(one) || hasLevel(one))

const hasModel = ({ model }: Skill): boolean =>
  model !== undefined && model !== 'inherit' && /^[\w./:@+[\]-]{1,200}$/.test(model)
const hasLevel = ({ thinking }: Skill): boolean => isThinkingLevel(thinking) && thinking !== 'adaptive'

/** Ignores models unknown to the provider, which would end the run. Providers without a list accept any. */
async function isKnown({ provider }: Run, model: string, known: Map<string, boolean>): Promise<boolean> {
  if (!provider.contextWindow || model === provider.meta.defaultModel) return true
  const found = known.get(model) ?? (await provider.contextWindow(model)) !== undefined
  known.set(model, found)
  return found
}

/** Problems with invalid `model` or `thinking` values. */
export function overrideProblems(skills: readonly Skill[]): readonly SkillProblem[] {
  return skills.flatMap((skill) => {
    const path = skill.path ?? `inline:${skill.name}`
    const note = (field: string, wanted: string): SkillProblem[] => [
      { path, problem: `its ${field} is ignored: it must be ${wanted}`, isSkipped: false, field },
    ]
    return [
      ...(skill.thinking === undefined || hasLevel(skill) ? [] : note('thinking', 'off, minimal, low, medium or high')),
      ...(skill.model === undefined || skill.model === 'inherit' || hasModel(skill)
        ? []
        : note('model', 'the name of a model')),
    ]
  })
}
