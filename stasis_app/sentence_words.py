"""English words that tell whether a full stop ends a sentence, and where a clause begins. Data only."""

from typing import Final

# always followed by a name or number
TITLES: Final = frozenset(
    "mr mrs ms prof gen sen rep gov capt cpt lt col sgt rev hon messrs mme mlle fr mt ft e.g i.e cf viz vs "
    "approx ca incl excl esp".split()
)
# followed by a name, or (Drive, Street) the end of a sentence
TITLES_OR_STREETS: Final = frozenset({"dr", "st"})
# end no sentence when a number comes next
BEFORE_NUMBER: Final = frozenset(
    "no nos n° nº fig figs vol p pp ch sec art par ext tel apt ste rm jan feb mar apr jun jul aug sep sept oct nov "
    "dec".split()
)
# may end a sentence; a capital or nothing known against it decides
MAYBE_ENDS: Final = frozenset(
    "a.m p.m am pm etc inc ltd co corp jr sr ave rd blvd ln hwy sq bros dept est min max hr hrs secs mins in "
    "ft mi km kg lb lbs oz ph.d b.a m.a b.sc m.sc mon tue tues wed thu thur thurs fri sat sun u.s u.k u.s.a d.c".split()
)
# a capital word after an abbreviation that still belongs to the same sentence
GOES_ON: Final = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
    "august september october november december est pst cst mst edt pdt gmt utc eastern pacific central "
    "mountain suite apt unit floor box n s e w nw ne sw se north south east west army navy government "
    "congress senate president dollar dollars".split()
)
# capital words that open a sentence and are nobody's name
STARTERS: Final = frozenset(
    "i i'm i'll i've you you're your he she it it's its we we're we'll we've our they they're their the this "
    "that that's these those there there's here here's a an my and but or so if when while because although "
    "as what what's where where's when's who who's why how which is are am was were do does did don't can "
    "can't could would should shall have has please no yes not now then also to for in on at with from after "
    "before once until since just let let's thank thanks sorry sure okay ok well however unfortunately "
    "alternatively otherwise".split()
)
JOINING: Final = frozenset(
    {"but", "so", "because", "while", "although", "which", "unless", "then", "where", "whereas"}
)
LATE_JOINING: Final = frozenset(
    {"and", "or", "if", "when", "that", "with", "for", "to", "from", "at", "on", "in"}
)
# belong to the word behind them: no breath is taken there
CLINGING: Final = frozenset(
    "a an the my your our his her its their this that these those some any no every each of to in on at for from "
    "with by into about as than and or nor not is are was were be been am do does did have has had will would can "
    "could should shall may might must i you we they he she it very more most mr mrs ms one two three four five six "
    "seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty "
    "forty fifty sixty seventy eighty ninety hundred thousand million".split()
)
# open a phrase: a breath may be taken before them, if what stands before is no part of it
OPENING: Final = JOINING | frozenset(
    "from by in on over through at with for about during before after until till near between within if when and "
    "or".split()
)
# said before an answer proper; a voice may pause behind their comma
OPENERS: Final = frozenset(
    (
        "yes,no,yeah,sure,certainly,absolutely,definitely,of course,sorry,i'm sorry,i am sorry,unfortunately,well,"
        "okay,ok,alright,all right,great,perfect,right,thanks,thank you,you're welcome,hello,hi,good morning,"
        "good afternoon,"
        "ja,nein,natürlich,selbstverständlich,gerne,gern,sicher,klar,leider,tut mir leid,entschuldigung,danke,"
        "guten tag,"
        "oui,non,bien sûr,certainement,désolé,désolée,je suis désolé,malheureusement,d'accord,merci,bonjour,"
        "sí,claro,por supuesto,desde luego,lo siento,perdón,lamentablemente,bueno,vale,gracias,hola,buenos días,"
        "certo,mi dispiace,purtroppo,va bene,grazie,buongiorno,nee,natuurlijk,helaas,sim,não,desculpe,infelizmente"
    ).split(",")
)
