// Written by Scripts/openapi from Documentation/openapi.json.

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The document as JSON, without white space.
  package static let bytes = Array((start + end).utf8)

  private static let start =
    #"""
    {"openapi":"3.1.0","info":{"title":"Store server","version":"1","license":{"name":"Apache L\#
    icense 2.0","identifier":"Apache-2.0"},"description":"Purchases, entitlements, events and c\#
    ontent grants of a store. Bodies are JSON in UTF-8, at most 64 KiB, of a purchase or change\#
     16 KiB; the head of a request has at most 7 KiB. Unknown members and repeated parameters a\#
    re refused; null is the same as a missing member. Times are RFC 3339. Errors are problem de\#
    tails (RFC 9457). Texts are limited in bytes of UTF-8; the patterns accept fewer characters\#
     if some are not ASCII. A path answers GET also for HEAD, except /v1/events. A request that\#
     is not HTTP/1.0 or HTTP/1.1 gets 505."},"servers":[{"url":"/"}],"security":[{"bearer":[]}]\#
    ,"tags":[{"name":"products","description":"What the store offers"},{"name":"purchases","des\#
    cription":"Buying, finishing and changing purchases"},{"name":"accounts","description":"The\#
     purchases of an account"},{"name":"events","description":"Changes, in commit order"},{"nam\#
    e":"content","description":"URLs of packages"},{"name":"server","description":"State and de\#
    scription of the server"}],"paths":{"/v1/products":{"get":{"operationId":"listProducts","ta\#
    gs":["products"],"summary":"Look up products","description":"Returns the products with the \#
    given identifiers, or else all, in pages of up to 200 in no particular order; the header Li\#
    nk names the next page. Without ETag if a product cannot be read now. Scope: read or purcha\#
    se.","parameters":[{"name":"id","in":"query","description":"A product identifier; may be re\#
    peated. Invalid and unknown ones are in `invalid`. Refused if those after the first 200 do \#
    not fit into the header Link (2,000 bytes).","schema":{"type":"array","items":{"type":"stri\#
    ng"}},"style":"form","explode":true},{"name":"cursor","in":"query","description":"From the \#
    header Link; not used with id.","schema":{"$ref":"#/components/schemas/Identifier"}},{"$ref\#
    ":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The products o\#
    f the page, or those with the given identifiers.","headers":{"ETag":{"$ref":"#/components/h\#
    eaders/ETag"},"Link":{"$ref":"#/components/headers/Link"}},"content":{"application/json":{"\#
    schema":{"$ref":"#/components/schemas/Products"}}}},"304":{"description":"The catalog is th\#
    e same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},\#
    "400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Un\#
    authorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/components/\#
    responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref"\#
    :"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"\#
    },"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotI\#
    mplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases":{"post"\#
    :{"operationId":"purchase","tags":["purchases"],"summary":"Buy a product","description":"Th\#
    e key identifies the purchase forever: repeat an interrupted request with the same key and \#
    the same body. 404: the product is not offered. 409: the same request is being processed. S\#
    cope: purchase.","parameters":[{"name":"Idempotency-Key","in":"header","required":true,"des\#
    cription":"The identifier of the transaction.","schema":{"$ref":"#/components/schemas/Trans\#
    action"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"\#
    #/components/schemas/NewPurchase"}}}},"responses":{"200":{"description":"The same request w\#
    as made before: its purchase as it is now.","headers":{"Idempotent-Replayed":{"required":tr\#
    ue,"schema":{"type":"string","const":"true"}}},"content":{"application/json":{"schema":{"$r\#
    ef":"#/components/schemas/Purchase"}}}},"201":{"description":"A new purchase in the state p\#
    urchased, deferred or failed. It is durable.","content":{"application/json":{"schema":{"$re\#
    f":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"\#
    401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/F\#
    orbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/res\#
    ponses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#\#
    /components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415\#
    ":{"$ref":"#/components/responses/UnsupportedType"},"422":{"$ref":"#/components/responses/O\#
    therRequest"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/componen\#
    ts/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":\#
    "#/components/responses/Unavailable"}}}},"/v1/purchases:batch":{"post":{"operationId":"purc\#
    haseBatch","tags":["purchases"],"summary":"Buy several products in one commit","description\#
    ":"Scope: purchase.","requestBody":{"required":true,"content":{"application/json":{"schema"\#
    :{"$ref":"#/components/schemas/Batch"}}}},"responses":{"200":{"description":"One result for\#
     each purchase, in the same order.","content":{"application/json":{"schema":{"$ref":"#/comp\#
    onents/schemas/BatchResults"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{\#
    "$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidd\#
    en"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/r\#
    esponses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"#/\#
    components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/HeadTooLong"},\#
    "500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImp\#
    lemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transacti\#
    on}":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"get":{"operationId":"r\#
    eadPurchase","tags":["purchases"],"summary":"Read a purchase","description":"Scope: read or\#
     purchase.","responses":{"200":{"description":"The purchase.","content":{"application/json"\#
    :{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/response\#
    s/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/compon\#
    ents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"\#
    #/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},\#
    "414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses\#
    /HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/r\#
    esponses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purch\#
    ases/{transaction}/finish":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"\#
    post":{"operationId":"finishPurchase","tags":["purchases"],"summary":"Finish a purchase","d\#
    escription":"409: it is deferred or failed. Scope: purchase.","responses":{"204":{"descript\#
    ion":"It is finished; also if it was finished before."},"400":{"$ref":"#/components/respons\#
    es/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/compo\#
    nents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":\#
    "#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"}\#
    ,"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/Tar\#
    getTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/component\#
    s/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"\#
    #/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/approve":{"parameters"\#
    :[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"approvePurchase","\#
    tags":["purchases"],"summary":"Approve a deferred or interrupted purchase","description":"S\#
    cope: admin.","responses":{"200":{"description":"The purchase after the change; also if it \#
    was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/component\#
    s/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#\#
    /components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404\#
    ":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/responses/MethodNo\#
    tAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/components/res\#
    ponses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/co\#
    mponents/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$re\#
    f":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailab\#
    le"}}}},"/v1/purchases/{transaction}/decline":{"parameters":[{"$ref":"#/components/paramete\#
    rs/Transaction"}],"post":{"operationId":"declinePurchase","tags":["purchases"],"summary":"D\#
    ecline a deferred purchase","description":"Scope: admin.","requestBody":{"required":false,"\#
    content":{"application/json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"responses\#
    ":{"200":{"description":"The purchase after the change; also if it was changed like this be\#
    fore.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},\#
    "400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Un\#
    authorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/\#
    responses/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref"\#
    :"#/components/responses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":\#
    {"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"#/components/responses/Unsup\#
    portedType"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/component\#
    s/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"\#
    #/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/refund":{"parameters":\#
    [{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"refundPurchase","ta\#
    gs":["purchases"],"summary":"Record that the price was paid back","description":"Scope: adm\#
    in.","requestBody":{"required":false,"content":{"application/json":{"schema":{"$ref":"#/com\#
    ponents/schemas/Change"}}}},"responses":{"200":{"description":"The purchase after the chang\#
    e; also if it was changed like this before.","content":{"application/json":{"schema":{"$ref\#
    ":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"4\#
    01":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Fo\#
    rbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/resp\#
    onses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/\#
    components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415"\#
    :{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/He\#
    adTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/resp\#
    onses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchase\#
    s/{transaction}/revoke":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"pos\#
    t":{"operationId":"revokePurchase","tags":["purchases"],"summary":"Take the product back","\#
    description":"Scope: admin.","requestBody":{"required":false,"content":{"application/json":\#
    {"schema":{"$ref":"#/components/schemas/Change"}}}},"responses":{"200":{"description":"The \#
    purchase after the change; also if it was changed like this before.","content":{"applicatio\#
    n/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/r\#
    esponses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#\#
    /components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"\#
    $ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conf\#
    lict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/respons\#
    es/TargetTooLong"},"415":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#\#
    /components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"\#
    $ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavai\#
    lable"}}}},"/v1/purchases/{transaction}/reverse":{"parameters":[{"$ref":"#/components/param\#
    eters/Transaction"}],"post":{"operationId":"reversePurchase","tags":["purchases"],"summary"\#
    :"Undo a refund or a revocation","description":"Scope: admin.","responses":{"200":{"descrip\#
    tion":"The purchase after the change; also if it was changed like this before.","content":{\#
    "application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/c\#
    omponents/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403"\#
    :{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound\#
    "},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/res\#
    ponses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/compone\#
    nts/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$\#
    ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"\#
    },"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{account}/entitlemen\#
    ts":{"parameters":[{"$ref":"#/components/parameters/Account"}],"get":{"operationId":"listEn\#
    titlements","tags":["accounts"],"summary":"List what an account can restore","description":\#
    "Every restorable purchase in the state purchased, finished or not. Scope: read or purchase\#
    .","parameters":[{"name":"since","in":"query","description":"The `revision` of the previous\#
     page.","schema":{"type":"integer","format":"int64","minimum":0,"maximum":92233720368547758\#
    07,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maxim\#
    um":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200\#
    ":{"description":"A page in the order of the last changes.","headers":{"ETag":{"$ref":"#/co\#
    mponents/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/sche\#
    mas/Purchases"}}}},"304":{"description":"The page is the same as that of If-None-Match.","h\#
    eaders":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#/components/response\#
    s/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/compon\#
    ents/responses/Forbidden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{\#
    "$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLo\#
    ng"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/respon\#
    ses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/compon\#
    ents/responses/Unavailable"}}}},"/v1/accounts/{account}/history":{"parameters":[{"$ref":"#/\#
    components/parameters/Account"}],"get":{"operationId":"listHistory","tags":["accounts"],"su\#
    mmary":"List all purchases of an account","description":"Also consumables, and purchases in\#
     other states. Scope: read or purchase.","parameters":[{"name":"since","in":"query","descri\#
    ption":"The `revision` of the previous page.","schema":{"type":"integer","format":"int64","\#
    minimum":0,"maximum":9223372036854775807,"default":0}},{"name":"limit","in":"query","schema\#
    ":{"type":"integer","minimum":1,"maximum":1000,"default":1000}},{"$ref":"#/components/param\#
    eters/IfNoneMatch"}],"responses":{"200":{"description":"A page in the order of the last cha\#
    nges.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/json\#
    ":{"schema":{"$ref":"#/components/schemas/Purchases"}}}},"304":{"description":"The page is \#
    the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}\#
    },"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/\#
    Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/component\#
    s/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$re\#
    f":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLon\#
    g"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/No\#
    tImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{accoun\#
    t}/erase":{"parameters":[{"$ref":"#/components/parameters/Account"}],"post":{"operationId":\#
    "eraseAccount","tags":["accounts"],"summary":"Replace the name of an account by a random on\#
    e","description":"Scope: admin.","responses":{"204":{"description":"No purchase has the nam\#
    e any more, and the receipts with it are removed."},"400":{"$ref":"#/components/responses/B\#
    adRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/component\#
    s/responses/Forbidden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$r\#
    ef":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"\#
    },"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses\#
    /Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/component\#
    s/responses/Unavailable"}}}},"/v1/events":{"get":{"operationId":"listEvents","tags":["event\#
    s"],"summary":"Wait for events","description":"With `Accept: text/event-stream`, the respon\#
    se is a stream. 410: the cursor is older than 30 days, or of another ledger, such as before\#
     a restore. Read the entitlements then. Scope: read or purchase.","parameters":[{"name":"af\#
    ter","in":"query","description":"The cursor of the last event; without it, only new events.\#
    ","schema":{"$ref":"#/components/schemas/Cursor"}},{"name":"wait","in":"query","description\#
    ":"Seconds to wait for the first event.","schema":{"type":"integer","minimum":0,"maximum":3\#
    0,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"maximu\#
    m":200,"default":200}},{"name":"Last-Event-ID","in":"header","description":"Like `after`, f\#
    or a stream that continues; ignored for a response in JSON.","schema":{"$ref":"#/components\#
    /schemas/Cursor"}}],"responses":{"200":{"description":"Events, or none after `wait`. A stre\#
    am sends each event with its cursor as id, its kind as event and its JSON as data, and a co\#
    mment ever
    """#
}
