/**
 * Under this name the log says who is next: `human` where a plugin handed over, `canceled` where somebody did not want
 * to answer, `interrupted` where the process ended in good order and the next one goes on.
 */
export const yieldOwner = 'workflow:yield'
