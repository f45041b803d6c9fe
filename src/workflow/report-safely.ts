/** Tells of errors, on the console where nobody wants to hear them. Whoever is told may have some of his own. */
export function reportSafely(report: ((error: Error) => void) | undefined): (error: Error) => void {
  if (!report) return toConsole
  return (error) => {
    try {
      report(error)
    } catch (own) {
      toConsole(error)
      toConsole(new Error('onError itself failed', { cause: own }))
    }
  }
}

const toConsole = (error: Error): void => console.error('libero:', error.message, error.cause ?? '')
