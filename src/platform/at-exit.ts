/** Belongs to the process, as its end does. */
const works = new Set<() => void>()

/** Does something quick when this process exits, unless it is called off before. */
export function atExit(work: () => void): () => void {
  if (works.size === 0) process.on('exit', doAll)
  works.add(work)
  return function callOff() {
    if (works.delete(work) && works.size === 0) process.off('exit', doAll)
  }
}

function doAll(): void {
  for (const work of works) {
    try {
      work()
    } catch {
      // there is nobody left to tell, and the others must have their turn
    }
  }
}
