import { failure, type PlanFor } from './plan.ts'
import { brief, code, denialIn, fileIn } from './results.ts'

/** Plans that change files. */
export const changePlans: { readonly [K in 'replace' | 'create' | 'append']: PlanFor<K> } = {
  *replace({ from, to, path, isAll }) {
    const say =
      to === ''
        ? `I will take ${code(from)} out of ${code(path)}.`
        : `I will replace ${code(from)} with ${code(to)} in ${code(path)}.`
    const deed = yield { say, job: { do: 'replace', path, from, to, isAll } }
    if (!deed.isError) return { says: `Done. ${brief(deed.text, 200)}.` }
    const ending = failure(deed, `change ${code(path)}`)
    const isSeveral = deed.text.includes('replace_all') || /\b(?:several|times|occurrences)\b/.test(deed.text)
    return isSeveral && !denialIn(deed)
      ? { ...ending, says: `${ending.says}\nTo replace all of them say: replace all "${brief(from, 60)}" with …` }
      : ending
  },

  *create({ path, text }, around) {
    if (around.can('read')) {
      const before = yield { say: `I will see whether ${code(path)} is there already.`, job: { do: 'read', path } }
      if (denialIn(before)) return failure(before, `look at ${code(path)}`)
      if (!before.isError)
        return {
          says: `${code(path)} is there already, so I left it as it is. To change it say: append "…" to ${path}, or delete it first.`,
          isStuck: true,
        }
    }
    const deed = yield { say: `I will write ${code(path)}.`, job: { do: 'write', path, text } }
    return deed.isError ? failure(deed, `write ${code(path)}`) : { says: `Done. ${brief(deed.text, 200)}.` }
  },

  *append({ path, text }) {
    const deed = yield { say: `I will read ${code(path)} first.`, job: { do: 'read', path } }
    if (deed.isError) return failure(deed, `read ${code(path)}`)
    const { lines, isPart } = fileIn(deed)
    const end = isPart ? undefined : uniqueEnd(lines)
    if (end === undefined)
      return {
        says: `I cannot find a place at the end of ${code(path)} that is like no other, so I left it as it is.`,
        isStuck: true,
      }
    const job = { do: 'replace', path, from: end, to: `${end}\n${text}` } as const
    const edited = yield { say: 'I will add it behind the last line.', job }
    return edited.isError ? failure(edited, `change ${code(path)}`) : { says: `Done. ${brief(edited.text, 200)}.` }
  },
}

/** The last lines of a file, as few as make a text that is nowhere else in it. */
function uniqueEnd(lines: readonly string[]): string | undefined {
  const text = lines.join('\n')
  for (let count = 1; count <= Math.min(lines.length, 20); count++) {
    const end = lines.slice(-count).join('\n')
    if (end.trim() !== '' && text.indexOf(end) === text.length - end.length) return end
  }
  return undefined
}
