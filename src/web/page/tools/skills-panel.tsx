import { usePage } from '../frame/page-context.ts'
import { visibleName, visibleText } from '../libero.ts'
import { Empty } from '../parts/empty.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'

const kinds: Readonly<Record<string, string>> = { used: 'good', wrong: 'bad', pending: 'waits' }

/** Skills, and why one is not used. */
export function SkillsPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.skills(), [])
  return (
    <Shown answer={answer} what="skills">
      {(skills) => (
        <>
          {skills.length === 0 && (
            <Empty title="No skills">
              <p>
                A skill is a folder with a <code>SKILL.md</code>, in <code>~/.libero/skills</code> or in{' '}
                <code>.agents/skills</code> of a project.
              </p>
            </Empty>
          )}
          <ul class="item-list">
            {skills.map(({ name, description, source, state, problem, path, isHidden, allowedTools }) => (
              <li key={`${source} ${path ?? name}`}>
                <div class="item-head">
                  <strong>{visibleName(name)}</strong>
                  <span class="tag" data-kind={kinds[state]}>
                    {state === 'pending' ? 'its project is not trusted' : state}
                  </span>
                  <span class="tag">{source}</span>
                  {isHidden && <span class="tag">only you can activate it</span>}
                </div>
                {problem !== undefined && <p class="problem-line">{visibleText(problem)}</p>}
                {description !== undefined && <p class="item-text lines">{visibleText(description)}</p>}
                <p class="item-text">
                  {[path && visibleName(path), allowedTools && `tools: ${allowedTools.map(visibleName).join(', ')}`]
                    .filter(Boolean)
                    .join(' · ')}
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  )
}
