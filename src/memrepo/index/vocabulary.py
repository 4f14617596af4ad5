"""English words that a search treats in a special way, as data.

Function words carry little of what a question asks for, but in a small memory they are rare enough to look important;
so they count for less. Irregular forms are what no stemmer can see: a question says "go", the fact says "went". Forms
that are as often another word (`rose`, `lay`, `bore`, `wound`) are left out on purpose.
"""

from __future__ import annotations

_FUNCTION = """
    a an the and or but if of at by for with about to from in on off as than then so not no nor
    is are was were be been being am do does did doing done have has had having
    can could will would shall should might must
    i me my mine we our ours us you your yours he him his she her hers it its they them their theirs
    this that these those there here
    what which who whom whose when where why how
    s t d ll re ve m don didn doesn isn wasn weren aren couldn wouldn shouldn hasn haven hadn
"""

FUNCTION_WORDS = frozenset(_FUNCTION.split())

_IRREGULAR = """
    be is are was were am been being
    have has had having
    do does did done doing
    go went gone
    become became
    begin began begun
    bite bit bitten
    blow blew blown
    break broke broken
    bring brought
    build built
    burn burnt
    buy bought
    catch caught
    choose chose chosen
    come came
    dig dug
    draw drew drawn
    dream dreamt
    drink drank drunk
    drive drove driven
    eat ate eaten
    fall fell fallen
    feed fed
    feel felt
    fight fought
    find found
    fly flew flown
    forbid forbade forbidden
    forget forgot forgotten
    forgive forgave forgiven
    freeze froze frozen
    get got gotten
    give gave given
    grow grew grown
    hang hung
    hear heard
    hide hid hidden
    hold held
    keep kept
    know knew known
    lead led
    learn learnt
    leave left
    lend lent
    lose lost
    make made
    mean meant
    meet met
    pay paid
    prove proven
    ride rode ridden
    ring rang rung
    run ran
    say said
    see saw seen
    sell sold
    send sent
    shake shook shaken
    shine shone
    shoot shot
    show shown
    sing sang sung
    sink sank sunk
    sit sat
    sleep slept
    speak spoke spoken
    spend spent
    stand stood
    steal stole stolen
    stick stuck
    strike struck
    swear swore sworn
    swim swam swum
    swing swung
    take took taken
    teach taught
    tear tore torn
    tell told
    think thought
    throw threw thrown
    understand understood
    wake woke woken
    wear wore worn
    win won
    write wrote written
    child children
    foot feet
    goose geese
    knife knives
    man men
    mouse mice
    person people
    shelf shelves
    tooth teeth
    wife wives
    woman women
"""

BASE_FORMS: dict[str, str] = {
    form: base for base, *forms in (line.split() for line in _IRREGULAR.strip().splitlines()) for form in forms
}
"""Irregular form to base form."""

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
